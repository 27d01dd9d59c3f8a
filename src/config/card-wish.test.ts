import { expect, it } from 'vitest';
import { cardWish } from './card-wish.ts';
import { createChecker } from './source-value.ts';
import { parseSourceYaml } from './source-yaml.ts';

function read(text: string) {
  const check = createChecker();
  const root = parseSourceYaml(text, 'a.yaml', () => undefined, check);
  const found = cardWish(check.object(root, ['gpu', 'gpu_layers', 'vram_reserve']), check);
  return {
    found,
    problems: check.problems.map(({ message, hint }) => [message, hint].filter(Boolean).join(' ')),
  };
}

const usual = { gpu: 'auto', layers: 'auto', reserve: 536_870_912 };

it.each([
  ['{}', usual],
  ['{ gpu: auto, gpu_layers: auto }', usual],
  ['{ gpu: vulkan }', { ...usual, gpu: 'vulkan' }],
  ['{ gpu: cuda, gpu_layers: 20, vram_reserve: 0 }', { gpu: 'cuda', layers: 20, reserve: 0 }],
  ['{ gpu: metal, gpu_layers: 0 }', { ...usual, gpu: 'metal', layers: 0 }],
  ['{ gpu: off }', undefined],
])('reads %s', (text, found) => expect(read(text)).toEqual({ found, problems: [] }));

it.each([
  ['{ gpu: opencl }', 'must be one of auto, off, cuda, vulkan, metal'],
  ['{ gpu: on }', 'must be one of auto, off, cuda, vulkan, metal'],
  ['{ gpu_layers: -1 }', 'must be from 0 to 10000, not -1'],
  ['{ gpu_layers: all }', 'expected a number or auto, found "all"'],
  ['{ vram_reserve: 1GB }', 'expected a number, found "1GB"'],
  ['{ gpu: off, gpu_layers: 3 }', 'has no effect with gpu: off Remove one of them.'],
  ['{ gpu: off, vram_reserve: 3 }', 'has no effect with gpu: off Remove one of them.'],
])('rejects %s', (text, problem) => expect(read(text).problems).toEqual([expect.stringContaining(problem)]));
