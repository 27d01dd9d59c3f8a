import type * as Undici from 'undici';
import { loadPackage } from '../../../base/load-package.ts';

/** Loads only undici's HTTP client: the rest is a tenth of the start-up time. A version with other paths is loaded whole. */
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
