import { type BatchRules, defaultEndpoints, defaultLimits } from '../../src/core/batch.ts';

/** Rules of `/v1` by default. */
export const usualRules: BatchRules = {
  endpoints: defaultEndpoints,
  requests: defaultLimits.requests,
  bytes: defaultLimits.bytes,
  inlineBytes: defaultLimits.bytes,
  anyPrefix: false,
};
