import type { BatchesDeps } from '../../src/batches/batch-context.ts';

/** Controls of an operator who has paused nothing. */
export const noControls: BatchesDeps['controls'] = { pausing: () => null, onChange: () => {} };
