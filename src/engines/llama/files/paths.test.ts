import { expect, it } from 'vitest';
import { partNames } from './paths.ts';

it.each([
  ['m.gguf', ['m.gguf']],
  ['m-00002-of-00003.gguf', ['m-00001-of-00003.gguf', 'm-00002-of-00003.gguf', 'm-00003-of-00003.gguf']],
  ['q/m-00001-of-00001.GGUF', ['q/m-00001-of-00001.GGUF']],
  ['m-00001-of-00000.gguf', ['m-00001-of-00000.gguf']],
  ['m-00001-of-99999.gguf', ['m-00001-of-99999.gguf']],
  ['m-1-of-2.gguf', ['m-1-of-2.gguf']],
])('%s', (name, parts) => expect(partNames(name)).toEqual(parts));
