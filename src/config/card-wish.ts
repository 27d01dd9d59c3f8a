import { type CardWish, defaultVramReserve, gpuChoices } from '../core/card.ts';
import type { Checker, SourceValue } from './source-value.ts';

/** Use of graphics cards; undefined for the processor alone. */
export function cardWish(
  {
    gpu: at,
    gpu_layers: layers,
    vram_reserve: reserve,
  }: Partial<Record<'gpu' | 'gpu_layers' | 'vram_reserve', SourceValue>>,
  check: Checker,
): CardWish | undefined {
  const gpu = check.choice(at, gpuChoices) ?? 'auto';
  const wish = {
    layers: check.wholeOrAuto(layers, { min: 0, max: 10_000 }),
    reserve: check.whole(reserve, { min: 0 }),
  };
  if (gpu !== 'off')
    return { gpu, layers: wish.layers ?? 'auto', reserve: wish.reserve ?? defaultVramReserve };
  for (const field of [layers, reserve])
    if (field !== undefined) check.fail(field, 'has no effect with gpu: off', 'Remove one of them.');
  return undefined;
}
