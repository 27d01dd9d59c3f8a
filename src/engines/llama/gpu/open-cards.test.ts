import { expect, test } from 'vitest';
import { reasonFrom } from './explain-failure.ts';
import { openCards } from './open-cards.ts';
import type { StartLibrary } from './start-library.ts';

interface Fake {
  gpu?: string | false;
  names?: string[];
  vram?: { total: number; free: number; unifiedSize: number };
  lines?: string[];
  fault?: Error;
  /** Failure of the first token. */
  tokenFault?: Error;
}

/** llama.cpp with the given cards, which logs `lines` when it loads a model. */
function fakeLibrary({
  gpu = 'vulkan',
  names = [],
  vram,
  lines = [],
  fault,
  tokenFault,
}: Fake): StartLibrary {
  async function* tokens() {
    if (tokenFault) throw tokenFault;
    yield* [1, 2, 3];
  }
  return async ({ log }) => {
    if (fault) throw fault;
    const llama = {
      gpu,
      getGpuDeviceNames: async () => names,
      getVramState: async () => vram ?? { total: 0, free: 0, unifiedSize: 0 },
      async loadModel() {
        for (const line of lines) log(line);
        return {
          createContext: async () => ({ getSequence: () => ({ evaluate: tokens }), dispose: async () => {} }),
          dispose: async () => {},
        };
      },
    };
    return { llama, library: {} } as unknown as Awaited<ReturnType<StartLibrary>>;
  };
}

const open = (fake: Fake) =>
  openCards(
    'vulkan',
    '/engine',
    fakeLibrary(fake),
    async (kind, folder, error) => `${kind} ${folder} ${String(error)}`,
  );

const gigabyte = 1024 ** 3;

test('the free memory of each card is that which llama.cpp reports for a model', async () => {
  const lines = [
    'llama_prepare_model_devices: using device Vulkan0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 23000 MiB free',
    'llama_prepare_model_devices: using device Vulkan1 (llvmpipe (LLVM 15.0.6, 256 bits)) (unknown id) - 2048 MiB free',
  ];
  const names = ['NVIDIA GeForce RTX 4090', 'llvmpipe (LLVM 15.0.6, 256 bits)', 'not used'];
  expect(
    await open({ names, vram: { total: 30 * gigabyte, free: 27 * gigabyte, unifiedSize: 0 }, lines }),
  ).toEqual({
    found: {
      kind: 'vulkan',
      cards: [
        { name: 'NVIDIA GeForce RTX 4090', free: 23_000 * 1024 ** 2 },
        { name: 'llvmpipe (LLVM 15.0.6, 256 bits)', free: 2 * gigabyte },
      ],
      total: 30 * gigabyte,
      isShared: false,
    },
    why: null,
  });
});

test('without such lines, the cards share the free memory equally', async () => {
  const vram = { total: 8 * gigabyte, free: 6 * gigabyte, unifiedSize: 8 * gigabyte };
  const { found } = await open({ names: ['A', 'B'], vram });
  expect(found).toMatchObject({
    cards: [
      { name: 'A', free: 3 * gigabyte },
      { name: 'B', free: 3 * gigabyte },
    ],
    isShared: true,
  });
});

test('a driver without cards is no card', async () => {
  expect(await open({})).toEqual({ found: null, why: 'its driver reports no card' });
});

test('a card that loads a model but computes no token is no card', async () => {
  const vram = { total: gigabyte, free: gigabyte, unifiedSize: 0 };
  const { found, why } = await open({ names: ['A'], vram, tokenFault: new Error('Eval has failed') });
  expect(found).toBeNull();
  expect(why).toContain('Eval has failed');
});

test('a build that does not start is explained', async () => {
  expect(await open({ fault: new Error('NoBinaryFound') })).toEqual({
    found: null,
    why: 'vulkan /engine Error: NoBinaryFound',
  });
});

test.each([
  [
    'vulkan',
    ['libvulkan.so.1: cannot open shared object file: No such file or directory'],
    /loader libvulkan\.so\.1 is missing/,
  ],
  ['vulkan', ['Vulkan device is not supported'], /^no driver with Vulkan 1\.2 or newer is installed$/],
  [
    'cuda',
    [
      'libcuda.so.1: cannot open shared object file: No such file or directory',
      'libcudart.so.13: cannot open shared object file: No such file or directory',
    ],
    /^the NVIDIA driver is missing/,
  ],
  [
    'cuda',
    [
      'libcudart.so.13: cannot open shared object file: No such file or directory',
      'libcudart.so.12: cannot open shared object file: No such file or directory',
    ],
    /^the libraries of CUDA 13 or 12 are missing \(libcudart\.so\.13, libcudart\.so\.12\)$/,
  ],
  [
    'cuda',
    [
      'ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version',
    ],
    /^the NVIDIA driver is too old/,
  ],
  ['cuda', ['CUDA error: the provided PTX was compiled with an unsupported toolchain.'], /driver is too old/],
  [
    'cuda',
    ['ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected'],
    /reports no card$/,
  ],
  ['cuda', ['Something else.\nat line 3'], /^Something else$/],
  ['cuda', [], /^CUDA found no card$/],
] as const)('for %s, %j becomes a reason', (kind, messages, reason) => {
  expect(reasonFrom(kind, messages)).toMatch(reason);
});
