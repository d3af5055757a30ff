"""Programs of mode `isolated` of `node-test`: driver and worker, in JavaScript."""
