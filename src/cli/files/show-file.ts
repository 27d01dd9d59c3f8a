import type { RemoteFile } from '../../client/resources.ts';
import { isoTime } from '../terminal/iso-time.ts';
import type { Terminal } from '../terminal/terminal.ts';

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
