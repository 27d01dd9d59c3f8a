import type { RemoteHistory } from '../../client/resources.ts';
import { isoTime } from '../shared/format.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Row {
  at: string;
  event: string;
  completed?: number;
  failed?: number;
  perMinute?: number;
}

/** States, waits and counts of a batch in the order of time. */
export function showHistory(history: RemoteHistory, terminal: Terminal): void {
  const rows: Row[] = [
    ...history.states.map(({ status, at }) => ({ at: isoTime(at), event: status })),
    ...history.waits.flatMap(({ reason, message, since, until }) => [
      { at: isoTime(since), event: `waits (${reason}): ${message}` },
      ...(until === null ? [] : [{ at: isoTime(until), event: `waits no more (${reason})` }]),
    ]),
    ...history.points.map((point, n) => toRow(point, history.points[n - 1])),
  ];
  terminal.table(
    ['time', 'event', 'completed', 'failed', 'per minute'],
    rows
      .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
      .map(({ at, event, completed, failed, perMinute }) => [
        at,
        event,
        textOf(completed),
        textOf(failed),
        textOf(perMinute),
      ]),
  );
  if (history.omitted_waits > 0) terminal.print(`${history.omitted_waits} short waits are not shown.`);
}

type Point = RemoteHistory['points'][number];

function toRow({ at, completed, failed }: Point, before: Point | undefined): Row {
  const row = { at: isoTime(at), event: '', completed, failed };
  if (!before) return row;
  const minutes = (Date.parse(row.at) - Date.parse(isoTime(before.at))) / 60_000;
  const finished = completed + failed - before.completed - before.failed;
  return minutes > 0 ? { ...row, perMinute: Math.round(finished / minutes) } : row;
}

function textOf(value: number | undefined): string {
  return value?.toString() ?? '';
}
