/** Kinds of tensors by their number in the file (ggml.h): name, numbers in a block, bytes of a block. */
export const tensorTypes: Record<number, readonly [name: string, block: number, bytes: number] | undefined> =
  {
    0: ['F32', 1, 4],
    1: ['F16', 1, 2],
    2: ['Q4_0', 32, 18],
    3: ['Q4_1', 32, 20],
    6: ['Q5_0', 32, 22],
    7: ['Q5_1', 32, 24],
    8: ['Q8_0', 32, 34],
    9: ['Q8_1', 32, 36],
    10: ['Q2_K', 256, 84],
    11: ['Q3_K', 256, 110],
    12: ['Q4_K', 256, 144],
    13: ['Q5_K', 256, 176],
    14: ['Q6_K', 256, 210],
    15: ['Q8_K', 256, 292],
    16: ['IQ2_XXS', 256, 66],
    17: ['IQ2_XS', 256, 74],
    18: ['IQ3_XXS', 256, 98],
    19: ['IQ1_S', 256, 50],
    20: ['IQ4_NL', 32, 18],
    21: ['IQ3_S', 256, 110],
    22: ['IQ2_S', 256, 82],
    23: ['IQ4_XS', 256, 136],
    24: ['I8', 1, 1],
    25: ['I16', 1, 2],
    26: ['I32', 1, 4],
    27: ['I64', 1, 8],
    28: ['F64', 1, 8],
    29: ['IQ1_M', 256, 56],
    30: ['BF16', 1, 2],
    34: ['TQ1_0', 256, 54],
    35: ['TQ2_0', 256, 66],
    39: ['MXFP4', 32, 17],
  };

/** Bytes of a tensor, or undefined when its kind is not known here. */
export function tensorBytes(type: number, elements: number): number | undefined {
  const known = tensorTypes[type];
  return known && Math.ceil(elements / known[1]) * known[2];
}

/** Mixtures of tensor kinds by `general.file_type` (llama.h), but for those called like the kind that most numbers have. */
export const mixtures: Record<number, string | undefined> = {
  11: 'Q3_K_S',
  12: 'Q3_K_M',
  13: 'Q3_K_L',
  14: 'Q4_K_S',
  15: 'Q4_K_M',
  16: 'Q5_K_S',
  17: 'Q5_K_M',
  21: 'Q2_K_S',
  22: 'IQ3_XS',
  27: 'IQ3_M',
  29: 'IQ2_M',
  38: 'MXFP4_MOE',
};
