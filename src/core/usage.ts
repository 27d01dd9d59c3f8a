/**
 * Tokens of one or several requests. `inputTokens` includes `cachedTokens` and `cacheWriteTokens`, and `outputTokens` includes
 * `reasoningTokens`; these are 0 if the engine reports none.
 */
export interface Usage {
  inputTokens: number;
  cachedTokens: number;
  /** Tokens that the engine wrote to its prompt cache, where it charges for that. */
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
}

export const noUsage: Usage = Object.freeze({
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
});

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}
