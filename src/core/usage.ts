/** Tokens of one request, or of many added up. `inputTokens` includes `cachedTokens`. */
export interface Usage {
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

export const noUsage: Usage = Object.freeze({ inputTokens: 0, cachedTokens: 0, outputTokens: 0 });

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}
