import { type AddedWork, tokensAhead } from '../../core/finish-time.ts';
import { timeAfterRunning } from '../../core/hours.ts';
import type { Caller } from '../../core/org.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { BatchWork } from '../../core/work-left.ts';
import type { InputIndex } from '../../files/input-index.ts';
import type { Forecast } from '../../wire/batch/present.ts';
import type { RunTimes } from '../deadline-risk.ts';
import { tokensByModel } from './quota.ts';

export interface ForecastDeps {
  /** Work of open batches that can run, and the rates of all processes in tokens per second. */
  openWork: () => Promise<{ work: readonly BatchWork[]; rateOf: (model: string) => number | null }>;
  /** Weights of the orgs. */
  weights: () => Promise<ReadonlyMap<string, number>>;
  /** Reason why no requests of an org are sent to a model. */
  waiting: (orgId: string, model: string) => Waiting | null;
  timesOf: (orgId: string, model: string) => RunTimes;
  idOf: (model: string) => string;
}

/** Estimates when a new batch would be done, at the measured rates and with the work that is open now. */
export async function forecast(
  deps: ForecastDeps,
  caller: Pick<Caller, 'orgId' | 'weight'>,
  { index, due, expiresAt }: { index: InputIndex; due: number; expiresAt: number },
): Promise<Forecast> {
  const { orgId, weight = 1 } = caller;
  const [{ work, rateOf }, weights] = await Promise.all([deps.openWork(), deps.weights()]);
  const weightOf = (id: string) => weights.get(id) ?? 1;
  const parts = Object.entries(tokensByModel(index, deps.idOf)).map(([model, tokens]) => {
    const added: AddedWork = { orgId, weight, due, tokens };
    const ahead = tokensAhead(
      work.filter((each) => each.model === model),
      added,
      weightOf,
    );
    const waiting = deps.waiting(orgId, model);
    const { from, hours } = deps.timesOf(orgId, model);
    const rate = rateOf(model);
    // The rate so far does not tell when a model takes requests again; hours do.
    const isKnown = rate !== null && (waiting === null || waiting.reason === 'hours');
    const eta = isKnown ? timeAfterRunning(hours, from, ((ahead + tokens) * 1_000) / rate) : null;
    return { ahead, waiting, eta: eta !== null && Number.isFinite(eta) ? Math.round(eta) : null };
  });
  const etas = parts.flatMap(({ eta }) => eta ?? []);
  const eta = etas.length === parts.length ? Math.max(...etas) : null;
  return {
    eta,
    tokensAhead: Math.round(parts.reduce((sum, { ahead }) => sum + ahead, 0)),
    atRisk: eta !== null && eta > expiresAt,
    waiting: parts.find(({ waiting }) => waiting !== null)?.waiting ?? null,
  };
}
