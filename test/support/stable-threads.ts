/**
 * V8 flags for processes with many short-lived threads. Each thread strips types in WebAssembly, which calls JavaScript
 * often; after 1,000 calls V8 13.6 compiles a call wrapper that all threads share, miscounts its users when threads
 * end, and crashes with SIGSEGV. These flags prevent that compilation.
 */
export const stableThreads = ['--wasm-wrapper-tiering-budget=1000000000'];
