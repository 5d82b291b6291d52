// Times in milliseconds, counters, and numbers of others are held in Int everywhere, and are bounded for one of 64 bits.
#if _pointerBitWidth(_32)
    #error("btcall needs a 64-bit machine: build it for aarch64, x86_64 or another with an Int of 64 bits")
#endif
