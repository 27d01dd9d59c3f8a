const megabyte = 1024 ** 2;

/**
 * Model of 16 layers with 512 + 512 half floats each: 32 kB of cache a token. Its output and its vocabulary take twice the memory of a
 * layer each.
 */
export function modelShape(layerMegabytes: number) {
  const layer = layerMegabytes * megabyte;
  return {
    layers: 16,
    keyWidth: 512,
    valueWidth: 512,
    width: 512,
    innerWidth: 1024,
    heads: 8,
    vocabulary: 1000,
    trainedContext: 32_768,
    fileBytes: 20 * layer,
    weights: {
      layers: Array<number>(16).fill(layer),
      output: 2 * layer,
      isOutputShared: false,
      largest: 2 * layer,
    },
  };
}
