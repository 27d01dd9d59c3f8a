import { useEffect, useRef } from 'react';
import type { Batch, BatchFilters } from './batches.ts';
import { apiBase } from './client.ts';
import { usePaused } from './pause.ts';
import { setConnected } from './connection.ts';

/** Pause before a stream that the server refused is opened again. */
const reopenMs = 5_000;
/** A stream that is away for longer means that the server is: proxies cut streams now and then. */
const awayMs = 3_000;

interface Listener {
  /** Called at most once a frame, with the latest state of each batch that changed, and the ids of those that were deleted. */
  onChange: (batches: readonly Batch[], deleted: ReadonlySet<string>) => void;
  /** Called when changes may be missing, and when the stream begins: what is shown has to be read again. */
  onGap: () => void;
}

/** Follows the changes of the batches that match, while the page is visible and not paused. */
export function useBatchEvents(isAdmin: boolean, filters: BatchFilters, listener: Listener): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  const query = queryOf(filters);
  const isPaused = usePaused();
  useEffect(
    () =>
      isPaused
        ? undefined
        : followBatches(`${apiBase}/v1/${isAdmin ? 'admin/' : ''}batches/events`, query, {
            onChange: (batches, deleted) => latest.current.onChange(batches, deleted),
            onGap: () => latest.current.onGap(),
          }),
    [isAdmin, query, isPaused],
  );
}

/** Opens a stream that survives disconnects. A hidden page has none: a browser allows only few to a server. */
function followBatches(path: string, query: string, { onChange, onGap }: Listener): () => void {
  let source: EventSource | undefined;
  let lastId: string | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let away: ReturnType<typeof setTimeout> | undefined;
  let frame: number | undefined;
  /** Null for a deleted batch. */
  const changed = new Map<string, Batch | null>();

  const flush = () => {
    frame = undefined;
    const batches = [...changed.values()].filter((batch) => batch !== null);
    const deleted = new Set([...changed].flatMap(([id, batch]) => (batch === null ? id : [])));
    changed.clear();
    onChange(batches, deleted);
  };
  const note = (id: string, batch: Batch | null, lastEventId: string) => {
    lastId = lastEventId;
    changed.set(id, batch);
    frame ??= requestAnimationFrame(flush);
  };

  const open = () => {
    const parameters = new URLSearchParams(query);
    if (lastId !== undefined) parameters.set('last_event_id', lastId);
    source = new EventSource(`${path}?${parameters}`);
    source.addEventListener('ready', ({ data, lastEventId }: MessageEvent<string>) => {
      lastId = lastEventId;
      clearTimeout(away);
      away = undefined;
      setConnected(true);
      const { complete } = JSON.parse(data) as { complete: boolean };
      if (!complete) onGap();
    });
    source.addEventListener('batch', ({ data, lastEventId }: MessageEvent<string>) => {
      const batch = JSON.parse(data) as Batch;
      note(batch.id, batch, lastEventId);
    });
    source.addEventListener('deleted', ({ data, lastEventId }: MessageEvent<string>) =>
      note((JSON.parse(data) as { id: string }).id, null, lastEventId),
    );
    source.addEventListener('error', () => {
      away ??= setTimeout(() => setConnected(false), awayMs);
      // The browser reconnects by itself unless the server refused.
      if (source?.readyState !== EventSource.CLOSED) return;
      clearTimeout(timer);
      timer = setTimeout(open, reopenMs);
    });
  };

  const close = () => {
    clearTimeout(timer);
    clearTimeout(away);
    away = undefined;
    source?.close();
    source = undefined;
  };
  const onVisibility = () => {
    close();
    if (!document.hidden) open();
  };

  onVisibility();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    if (frame !== undefined) cancelAnimationFrame(frame);
    close();
  };
}

function queryOf(filters: BatchFilters): string {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined && value !== '');
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}
