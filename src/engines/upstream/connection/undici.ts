import type * as Undici from 'undici';
import { loadPackage } from '../../../base/load-package.ts';

/**
 * The parts of undici that speak to upstreams. With fetch, WebSocket, caches and mocks it is three times as many files,
 * which were a tenth of a start. A version that keeps the parts elsewhere is loaded whole.
 */
export function loadUndici(): Pick<typeof Undici, 'Pool' | 'buildConnector'> {
  try {
    return {
      Pool: loadPackage('undici/lib/dispatcher/pool.js') as typeof Undici.Pool,
      buildConnector: loadPackage('undici/lib/core/connect.js') as typeof Undici.buildConnector,
    };
  } catch {
    return loadPackage('undici') as typeof Undici;
  }
}
