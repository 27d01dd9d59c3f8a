/** Open batches of an org with one model; null for batches of several models. */
export interface OpenSum {
  orgId: string;
  model: string | null;
  batches: number;
  /** Lines without a result. */
  lines: number;
  /** Earliest creation and expiry, in epoch milliseconds. */
  createdAt: number;
  expiresAt: number;
  /** Batches at risk of missing their window. */
  atRisk: number;
}

interface Summed {
  orgId: string;
  model: string | null;
  total: number;
  ok: number;
  err: number;
  createdAt: number;
  expiresAt: number;
  atRiskAt: number | null;
}

/** Sums open batches by org and model. */
export function sumOpen(batches: readonly Summed[]): OpenSum[] {
  const sums = new Map<string, OpenSum>();
  for (const { orgId, model, total, ok, err, createdAt, expiresAt, atRiskAt } of batches) {
    const key = `${orgId} ${model}`;
    const sum = sums.get(key) ?? { orgId, model, batches: 0, lines: 0, createdAt, expiresAt, atRisk: 0 };
    sum.batches++;
    sum.lines += total - ok - err;
    sum.createdAt = Math.min(sum.createdAt, createdAt);
    sum.expiresAt = Math.min(sum.expiresAt, expiresAt);
    if (atRiskAt !== null) sum.atRisk++;
    sums.set(key, sum);
  }
  return [...sums.values()];
}
