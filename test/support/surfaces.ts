import { batchEndpoints } from '../../src/core/batch.ts';
import { createSurfaces, type SurfaceConfig } from '../../src/server/surfaces.ts';

/** Configuration that `testSurfaces` builds on. */
export interface SurfaceOptions {
  limits: { requestsPerBatch: number; bytesPerBatch: number; bodyBytesInFlight: number };
  dates?: SurfaceConfig['batch']['dates'];
  console?: boolean;
}

/** Surfaces with every endpoint, of which the compatible ones take five times as much as `/v1`. */
export function testSurfaces({ limits, dates = 'iso', console = true }: SurfaceOptions) {
  const compatible = {
    requestsPerBatch: 5 * limits.requestsPerBatch,
    bytesPerBatch: 5 * limits.bytesPerBatch,
  };
  return createSurfaces({
    console,
    surfaces: { openai: '/openai', anthropic: '/anthropic' },
    limits: { ...limits, compatible },
    batch: { endpoints: batchEndpoints, compatibleEndpoints: batchEndpoints, dates },
  });
}
