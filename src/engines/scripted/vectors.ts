import { fnv } from './tokens.ts';

/** A unit vector that depends on nothing but the text: equal texts are equal, others point elsewhere. */
export function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  let state = fnv(0x811c9dc5, text) || 1;
  let square = 0;
  for (let i = 0; i < dimensions; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const value = (state >>> 0) / 2 ** 31 - 1;
    vector[i] = value;
    square += value * value;
  }
  const length = Math.sqrt(square) || 1;
  for (let i = 0; i < dimensions; i++) vector[i] = (vector[i] ?? 0) / length;
  return vector;
}
