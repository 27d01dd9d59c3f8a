import { useEffect, useRef, useState } from 'react';
import { type Run, runRequest } from './run.ts';
import type { Format } from './search.ts';

/** The last run of the screen, with the body that it sent. */
export interface CurrentRun extends Run {
  format: Format;
  body: Record<string, unknown>;
}

interface RunControls {
  run: CurrentRun | undefined;
  start: (format: Format, body: Record<string, unknown>) => void;
  stop: () => void;
}

/** Runs one request at a time. It is stopped when the screen closes. */
export function useRun(): RunControls {
  const [run, setRun] = useState<CurrentRun>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  function start(format: Format, body: Record<string, unknown>): void {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    void runRequest({
      format,
      body,
      signal: controller.signal,
      now: () => performance.now(),
      // A stream may have more events than the screen has frames; React renders them together.
      onChange: (next) => running.current === controller && setRun({ ...next, format, body }),
    });
  }

  return { run, start, stop: () => running.current?.abort() };
}
