/**
 * Flags of V8 for processes in which many threads come and go. Each thread of a test strips the types of its sources anew, in
 * WebAssembly that calls JavaScript often; after 1,000 calls V8 13.6 compiles a wrapper for them that all threads of the
 * process share, counts wrongly who still uses it when threads end, and dies of SIGSEGV. So none is compiled.
 */
export const stableThreads = ['--wasm-wrapper-tiering-budget=1000000000'];
