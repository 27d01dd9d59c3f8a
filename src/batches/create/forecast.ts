import { type AddedWork, tokensAhead } from '../../core/finish-time.ts';
import type { Batch } from '../../core/batch.ts';
import { timeAfterRunning } from '../../core/hours.ts';
import type { Caller } from '../../core/org.ts';
import type { Waiting } from '../../core/waiting.ts';
import type { BatchWork } from '../../core/work-left.ts';
import type { InputIndex } from '../../files/input-index.ts';
import type { Forecast } from '../../wire/batch/present.ts';
import { type RunTimes, timeLeft } from '../deadline-risk.ts';
import { tokensByModel } from './quota.ts';

export interface ForecastDeps {
  /** Work of open batches that can run, and the rates of all processes in tokens per second. */
  openWork: () => Promise<{ work: readonly BatchWork[]; rateOf: (model: string) => number | null }>;
  weights: () => Promise<ReadonlyMap<string, number>>;
  /** Reason why no requests of an org are sent to a model. */
  waiting: (orgId: string, model: string) => Waiting | null;
  timesOf: (orgId: string, model: string) => RunTimes;
  idOf: (model: string) => string;
}

/** Place in the queue, and end of the window, that a new batch may have. */
type Place = Pick<Batch, 'due' | 'expiresAt'>;

/**
 * Estimates when a new batch would be done at each of these places, at the measured rates and with the work that is open now.
 * @returns forecasts in the order of the places
 */
export async function forecast(
  deps: ForecastDeps,
  caller: Pick<Caller, 'orgId' | 'weight'>,
  index: InputIndex,
  places: readonly Place[],
): Promise<Forecast[]> {
  const { orgId, weight = 1 } = caller;
  const { work, rateOf } = await deps.openWork();
  const isShared = work.some((each) => each.orgId !== orgId);
  const weights = isShared ? await deps.weights() : new Map<string, number>();
  const weightOf = (id: string) => weights.get(id) ?? 1;
  const models = Object.entries(tokensByModel(index, deps.idOf)).map(([model, tokens]) => ({
    tokens,
    open: work.filter((each) => each.model === model),
    rate: rateOf(model),
    waiting: deps.waiting(orgId, model),
    times: deps.timesOf(orgId, model),
  }));

  function partAt(
    { due, expiresAt }: Place,
    { tokens, open, rate, waiting, times }: (typeof models)[number],
  ) {
    const added: AddedWork = { orgId, weight, due, tokens };
    const ahead = tokensAhead(open, added, weightOf);
    const { from, hours } = times;
    // The rate so far does not show when a model takes requests again; its hours do.
    const isKnown = rate !== null && (waiting === null || waiting.reason === 'hours');
    const end = isKnown ? timeAfterRunning(hours, from, ((ahead + tokens) * 1_000) / rate) : null;
    const eta = end !== null && Number.isFinite(end) ? Math.round(end) : null;
    // Whatever the rate, nothing runs outside the hours.
    const isLate = eta === null ? timeLeft({ expiresAt }, times) === 0 : eta > expiresAt;
    const start = isLate ? timeAfterRunning(hours, from, 1) : Number.POSITIVE_INFINITY;
    return { ahead, eta, isLate, earliest: eta ?? (Number.isFinite(start) ? Math.round(start) : null) };
  }

  return places.map((place) => {
    const parts = models.map((model) => partAt(place, model));
    const ends = parts.flatMap(({ earliest }) => earliest ?? []);
    const earliest = ends.length === 0 ? null : Math.max(...ends);
    return {
      eta: parts.every(({ eta }) => eta !== null) ? earliest : null,
      earliest,
      tokensAhead: Math.round(parts.reduce((sum, { ahead }) => sum + ahead, 0)),
      atRisk: parts.some(({ isLate }) => isLate),
      waiting: models.find(({ waiting }) => waiting !== null)?.waiting ?? null,
    };
  });
}
