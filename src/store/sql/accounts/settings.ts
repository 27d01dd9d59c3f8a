import { changeLimits, type LimitChanges, type Limits } from '../../../core/limits.ts';

/** New values of the settings that depend on the old ones, of an org or a key. */
export function changedSettings(
  before: { limits: Limits; disabledAt: number | null },
  { limits, disabled }: { limits?: LimitChanges; disabled?: boolean },
  now: number,
): { limits?: Limits; disabledAt?: number | null } {
  return {
    ...(limits !== undefined && { limits: changeLimits(before.limits, limits) }),
    ...(disabled !== undefined && { disabledAt: disabled ? (before.disabledAt ?? now) : null }),
  };
}
