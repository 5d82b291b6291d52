// Times in milliseconds, counters and external numbers are stored in Int everywhere, with limits for 64 bits.
#if _pointerBitWidth(_32)
    #error("btcall needs a 64-bit machine: build it for aarch64, x86_64 or another with an Int of 64 bits")
#endif
