import { ApiError, type Fault, passing } from '../../core/errors.ts';
import type { GivenSchema, Schemas } from './schemas.ts';

/**
 * Says of one schema why no request with it could ever run, or null: for those who take requests that run later. One
 * whose trial took too long, or did not take place, may pass the next time.
 */
export function createSchemaRefusal(
  schemas: Schemas,
): (given: GivenSchema, orgId: string) => Promise<Fault | null> {
  return async (given, orgId) => {
    try {
      await schemas.admit([given], orgId);
      return null;
    } catch (error) {
      const isFinal = error instanceof ApiError && error.status === 422 && error.blame !== passing;
      return (isFinal && error.faults[0]) || null;
    }
  };
}
