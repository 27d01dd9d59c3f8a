import { isoSeconds } from '../../base/clock.ts';
import type { RemoteFile } from '../../client/resources.ts';
import type { Terminal } from '../terminal.ts';

export function showFile(file: RemoteFile, terminal: Terminal): void {
  terminal.print(terminal.paint('bold', file.id));
  terminal.record([
    ['filename', file.filename],
    ['purpose', file.purpose],
    ['bytes', String(file.bytes)],
    ['created', isoTime(file.created_at)],
    ['expires', file.expires_at === undefined ? null : isoTime(file.expires_at)],
    ['status', file.status],
  ]);
}

/** Unix seconds as `2026-11-21T09:30:00Z`; what is so already stays as it is. */
export function isoTime(instant: number | string): string {
  return typeof instant === 'string' ? instant : isoSeconds(instant * 1000);
}
