/**
 * The variables that the process of a model is given. It reads files that somebody else made, in native code, so it is
 * told none of our keys and of nobody else's: only where things are, how to speak, and what its libraries are set by.
 */
const names = new Set(
  `PATH HOME USERPROFILE APPDATA LOCALAPPDATA SYSTEMROOT WINDIR TMPDIR TMP TEMP LANG LANGUAGE TZ XDG_CACHE_HOME
  NODE_COMPILE_CACHE NODE_LLAMA_CPP_GPU NODE_LLAMA_CPP_LOG_LEVEL NODE_LLAMA_CPP_DEBUG`.split(/\s+/),
);
/** The dynamic linker and the allocator; threads of mathematics; the makers of graphics cards. */
const prefix =
  /^(?:LC|LD|DYLD|MALLOC|GGML|LLAMA|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|CUDA|NVIDIA|VK|VULKAN|GPU|HIP|HSA|ROCR|ROCM|AMD|SYCL|ONEAPI|ZE|MTL|METAL)_/;
const secret = /KEY|TOKEN|SECRET|PASS|CREDENTIAL/i;

type Environment = Record<string, string | undefined>;

export function childEnvironment(given: Environment): Environment {
  const kept = Object.entries(given).filter(
    ([name]) => names.has(name.toUpperCase()) || (prefix.test(name) && !secret.test(name)),
  );
  return Object.fromEntries(kept);
}
