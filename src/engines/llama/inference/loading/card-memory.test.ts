import { describe, expect, test } from 'vitest';
import { modelShape } from '../../../../../test/support/model-shape.ts';
import { sum } from '../../../../base/sum.ts';
import { type CardMemory, layerCount, place, placeMost } from './card-memory.ts';
import { cardNote } from './card-note.ts';
import { planContext } from './memory.ts';

const megabyte = 1024 ** 2;
const shape = modelShape(50);
const context = { cachePerLayer: 10 * megabyte, work: 200 * megabyte, cardWork: 70 * megabyte };
const all = layerCount(shape);
const oneCard = (free: number, more: Partial<CardMemory> = {}): CardMemory => ({
  free: [free * megabyte],
  isShared: false,
  layers: 'auto',
  reserve: 0,
  ...more,
});
const wanted = { contextSize: 1024, sequences: 4, flashAttention: false };
const plenty = 100_000 * megabyte;

describe('a placement', () => {
  test('has the output first, then the last layers with their caches', () => {
    expect(place(shape, context, 0, [plenty])).toEqual({
      layers: 0,
      host: (1000 + 160 + 200) * megabyte,
      cards: [0],
    });
    // The card has room to copy a tensor and a cache of the processor's layers.
    expect(place(shape, context, 1, [plenty])).toMatchObject({
      host: (900 + 160 + 200) * megabyte,
      cards: [(100 + 70 + 110) * megabyte],
    });
    expect(place(shape, context, 3, [plenty])).toMatchObject({
      host: (800 + 140 + 200) * megabyte,
      cards: [(100 + 2 * 60 + 70 + 110) * megabyte],
    });
    expect(place(shape, context, all, [plenty])).toMatchObject({
      host: (100 + 200) * megabyte,
      cards: [(16 * 60 + 100 + 70) * megabyte],
    });
  });

  test('copies an output that is the vocabulary', () => {
    const tied = { ...shape, weights: { ...shape.weights, isOutputShared: true } };
    expect(place(tied, context, all, [plenty]).host).toBe((200 + 200) * megabyte);
  });

  test('divides the layers between cards by their free memory', () => {
    // llama.cpp gave three and two of five layers to two equal cards.
    expect(place(shape, context, 5, [plenty, plenty]).cards).toEqual([
      (3 * 60 + 70 + 110) * megabyte,
      (60 + 100 + 70 + 110) * megabyte,
    ]);
    const [large, small] = place(shape, context, all, [30 * megabyte, 10 * megabyte]).cards;
    expect(large).toBe((13 * 60 + 70) * megabyte);
    expect(small).toBe((3 * 60 + 100 + 70) * megabyte);
  });
});

describe('the layers on the cards', () => {
  test('are all that fit beside the reserve', () => {
    expect(placeMost(shape, context, oneCard(1130)).layers).toBe(all);
    expect(placeMost(shape, context, oneCard(1129)).layers).toBe(all - 2);
    expect(placeMost(shape, context, oneCard(1130, { reserve: 1 })).layers).toBeLessThan(all);
    expect(placeMost(shape, context, oneCard(1230, { reserve: 100 * megabyte })).layers).toBe(all);
    expect(placeMost(shape, context, oneCard(279)).layers).toBe(0);
    expect(placeMost(shape, context, oneCard(280)).layers).toBe(1);
    expect(placeMost(shape, context, undefined).layers).toBe(0);
  });

  test('are at most the configured ones', () => {
    expect(placeMost(shape, context, oneCard(5000, { layers: 4 })).layers).toBe(4);
    expect(placeMost(shape, context, oneCard(5000, { layers: 0 })).layers).toBe(0);
    expect(placeMost(shape, context, oneCard(5000, { layers: 99 })).layers).toBe(all);
    expect(placeMost(shape, context, oneCard(400, { layers: 10 })).layers).toBe(3);
  });

  test('fit on each of several cards', () => {
    const cards = { ...oneCard(0), free: [600 * megabyte, 800 * megabyte] };
    const { layers, cards: bytes } = placeMost(shape, context, cards);
    expect(layers).toBeGreaterThan(placeMost(shape, context, oneCard(800)).layers);
    expect(bytes[0]).toBeLessThanOrEqual(600 * megabyte);
    expect(bytes[1]).toBeLessThanOrEqual(800 * megabyte);
  });
});

describe('a plan with a card', () => {
  test('needs less memory of the processor', () => {
    const free = 700 * megabyte;
    expect(planContext(shape, wanted, free).misfit).toContain('needs 1000 MB');
    const plan = planContext(shape, wanted, free, oneCard(2000));
    expect(plan).toMatchObject({ misfit: null, cardAdvice: [], placement: { layers: all } });
  });

  test('counts memory that the card shares with the processor once', () => {
    const cards = oneCard(2000, { isShared: true });
    expect(planContext(shape, wanted, 700 * megabyte, cards).misfit).toMatch(
      /besides \d+ MB on the graphics card/,
    );
    expect(planContext(shape, wanted, 2000 * megabyte, cards).misfit).toBeNull();
  });

  test('says what would fit, if some layers do not', () => {
    const long = { contextSize: 4096, sequences: 4, flashAttention: false };
    const plan = planContext(shape, long, plenty, oneCard(1250));
    expect(plan.placement.layers).toBeGreaterThan(0);
    expect(plan.placement.layers).toBeLessThan(all);
    expect(plan.cardAdvice).toEqual([
      expect.stringMatching(/^sequences: \d$/),
      expect.stringMatching(/^context: \d+$/),
    ]);
    const [sequences] = plan.cardAdvice.map((text) => Number(text.split(' ')[1]));
    expect(
      planContext(shape, { ...long, sequences: sequences! }, plenty, oneCard(1250)).placement.layers,
    ).toBe(all);
    const more = { ...long, sequences: sequences! + 1 };
    expect(planContext(shape, more, plenty, oneCard(1250)).placement.layers).toBeLessThan(all);
  });

  test('shortens an open context down to 2,048 tokens, so that all layers fit', () => {
    const open = { ...wanted, contextSize: 'auto' as const };
    expect(planContext(shape, open, plenty, oneCard(9000)).contextSize).toBe(4096);
    const shorter = planContext(shape, open, plenty, oneCard(1400));
    expect(shorter.contextSize).toBeGreaterThanOrEqual(2048);
    expect(shorter.contextSize).toBeLessThan(4096);
    expect(shorter.placement.layers).toBe(all);
    expect(sum(shorter.placement.cards)).toBeLessThanOrEqual(1400 * megabyte);
    const partial = planContext(shape, open, plenty, oneCard(1000));
    expect(partial.contextSize).toBe(4096);
    expect(partial.placement.layers).toBeLessThan(all);
  });
});

describe('the note about a card', () => {
  const card = { name: 'A card', free: 2e9 };
  const found = { kind: 'vulkan', cards: [card], total: 4e9, isShared: false } as const;
  const choice = { found: { ...found, cards: [card] }, why: null };
  const options = { layers: 'auto', reserve: 5e8 } as const;
  const planned = (layers: number) => ({
    placement: { layers, host: 0, cards: [1] },
    cardAdvice: ['sequences: 2'],
  });

  test('is absent if the card has all wanted layers, or none are wanted', () => {
    expect(cardNote(choice, planned(17), 17, options)).toBeNull();
    expect(cardNote(choice, planned(4), 17, { ...options, layers: 4 })).toBeNull();
    expect(cardNote(choice, planned(0), 17, { ...options, layers: 0 })).toBeNull();
    expect(cardNote({ found: null, why: null }, planned(0), 17, options)).toBeNull();
    expect(cardNote({ found: null, why: 'x' }, planned(0), 17, undefined)).toBeNull();
  });

  test('says why the processor does the work', () => {
    expect(cardNote({ found: null, why: 'CUDA: no driver' }, planned(0), 17, options)).toBe(
      'The model runs on the processor, not on a graphics card (CUDA: no driver).',
    );
    expect(cardNote(choice, planned(0), 17, options)).toBe(
      'The model runs on the processor, not on a graphics card (no layer fits there: A card has 2.00 GB free, of which 500 MB are left to others (vram_reserve)). This would fit: sequences: 2.',
    );
    expect(cardNote(choice, planned(4), 17, options)).toMatch(
      /^4 of the 17 layers fit on the graphics card, and/,
    );
    expect(cardNote(choice, planned(4), 17, { ...options, layers: 9 })).toMatch(
      /^4 of the 9 wanted layers fit/,
    );
  });
});
