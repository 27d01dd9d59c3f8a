import { closeSync, openSync, readSync } from 'node:fs';
import { isoSeconds } from '../../../base/clock.ts';
import { parseDuration } from '../../../base/duration.ts';
import type { Client } from '../../../client/client.ts';
import type { RemoteEstimate, RemoteQuote } from '../../../client/resources.ts';
import { formatDollars, parseDollars } from '../../../core/price.ts';
import { isoTime } from '../../shared/format.ts';
import { printResult } from '../../shared/commands.ts';
import type { Cli } from '../../shared/cli.ts';
import { CliError } from '../../shared/exit-codes.ts';
import { showEstimate } from '../show-batch.ts';
import type { InputFile, InputPart } from './read-input.ts';
import type { BatchOptions } from './run-input.ts';

/** Batches that are estimated; the rest of a larger input is extrapolated. */
const maxParts = 10;

/** Prints an estimate of a run. Nothing is stored. */
export async function showInputEstimate(
  cli: Cli,
  client: Client,
  input: InputFile,
  { json, endpoint = input.endpoint, window }: BatchOptions,
): Promise<void> {
  if (input.requests === 0) throw new CliError('There is nothing to ask: the cache has all answers.');
  const estimate = await estimateInput(client, input, { endpoint, window, now: cli.clock.now() });
  printResult(cli, { json }, estimate, showEstimate);
}

async function estimateInput(
  client: Client,
  input: InputFile,
  { endpoint, window, now }: { endpoint: string; window: string | undefined; now: number },
): Promise<RemoteEstimate> {
  const { parts } = input;
  const step = Math.max(1, parts.length / maxParts);
  const chosen = parts.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  const estimates: RemoteEstimate[] = [];
  for (const part of chosen)
    estimates.push(await client.batches.dryRun(endpoint, readRequests(input.path, part), window));
  return extrapolate(estimates, input.requests, now);
}

const newline = 0x0a;
const comma = 0x2c;

/** Lines of a part as the items of a JSON array. */
function readRequests(path: string, { offset, bytes }: InputPart): Uint8Array {
  const lines = Buffer.allocUnsafeSlow(bytes);
  const file = openSync(path, 'r');
  try {
    for (let done = 0; done < bytes;) done += readSync(file, lines, done, bytes - done, offset + done);
  } finally {
    closeSync(file);
  }
  const end = lines.at(-1) === newline ? bytes - 1 : bytes;
  for (let at = lines.indexOf(newline); at >= 0 && at < end; at = lines.indexOf(newline, at + 1))
    lines[at] = comma;
  return lines.subarray(0, end);
}

/** Sum of estimates, extended to `requests` requests. */
function extrapolate(estimates: readonly RemoteEstimate[], requests: number, now: number): RemoteEstimate {
  const [first] = estimates as [RemoteEstimate];
  const known = estimates.reduce((sum, { request_counts: counts }) => sum + counts.total, 0);
  const scale = (value: number) => Math.round((value * requests) / known);
  const tokens = (name: 'input_tokens' | 'output_tokens' | 'total_tokens') =>
    scale(estimates.reduce((sum, { usage }) => sum + usage[name], 0));
  const usage = {
    ...first.usage,
    input_tokens: tokens('input_tokens'),
    output_tokens: tokens('output_tokens'),
    total_tokens: tokens('total_tokens'),
  };
  return {
    ...first,
    request_counts: { ...first.request_counts, total: requests },
    usage,
    exact_input: known === requests && estimates.every(({ exact_input: isExact }) => isExact),
    cost: scaleCost(
      estimates.map(({ cost }) => cost),
      { requests, known },
    ),
    ...(first.forecast && {
      forecast: forecastOf(first, first.forecast, { tokens: usage.total_tokens, now }),
    }),
    ...(first.windows && {
      windows: first.windows.map((quote, at) => ({
        ...quoteOf(first, quote, { tokens: usage.total_tokens, now }),
        cost: scaleCost(
          estimates.flatMap(({ windows }) => windows?.[at]?.cost ?? []),
          { requests, known },
        ),
      })),
    }),
    quota: estimates.find(({ quota }) => !quota.fits)?.quota ?? first.quota,
  };
}

/** Sum of the costs of parts, extended by `scale`. */
function scaleCost(
  costs: readonly RemoteEstimate['cost'][],
  scale: { requests: number; known: number },
): RemoteEstimate['cost'] {
  const total = (of: 'amount' | 'list_amount') => {
    const dollars = costs.reduce((sum, cost) => sum + parseDollars(cost[of]), 0n);
    return formatDollars((dollars * BigInt(scale.requests)) / BigInt(scale.known));
  };
  return { ...costs[0]!, amount: total('amount'), list_amount: total('list_amount') };
}

/** Window of servers that do not say it. */
const usualWindow = '24h';

interface Whole {
  /** Tokens of all batches. */
  tokens: number;
  now: number;
}

/** Forecast for all tokens, at the rate that the server expects for the first batch. */
function forecastOf(
  { usage, completion_window: window = usualWindow }: RemoteEstimate,
  forecast: NonNullable<RemoteEstimate['forecast']>,
  whole: Whole,
): RemoteEstimate['forecast'] {
  const { eta, tokens_ahead: ahead } = forecast;
  if (eta === null) return forecast;
  const end = endOf(eta, { ahead, first: usage.total_tokens, whole });
  return { ...forecast, eta: isoSeconds(end), at_risk: forecast.at_risk || isAfter(end, window, whole) };
}

/** The same for one of the windows. */
function quoteOf({ usage }: RemoteEstimate, quote: RemoteQuote, whole: Whole): RemoteQuote {
  const { eta, tokens_ahead: ahead, completion_window: window, can_be_met: canBeMet } = quote;
  if (eta === null) return quote;
  const end = endOf(eta, { ahead, first: usage.total_tokens, whole });
  return { ...quote, eta: isoSeconds(end), can_be_met: canBeMet && !isAfter(end, window, whole) };
}

/** End of all tokens in epoch milliseconds, if the `first` of them and those `ahead` are done at `eta`. */
function endOf(
  eta: string | number,
  { ahead, first, whole: { tokens, now } }: { ahead: number; first: number; whole: Whole },
): number {
  const duration = Date.parse(isoTime(eta)) - now;
  return now + (duration * (tokens + ahead)) / Math.max(1, first + ahead);
}

function isAfter(end: number, window: string, { now }: Whole): boolean {
  return end - now > (parseDuration(window) ?? Number.POSITIVE_INFINITY);
}
