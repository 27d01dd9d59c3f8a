import { resolve } from 'node:path';
import type { Checker, SourceValue } from './source-value.ts';
import type { EngineConfig, ReplicaConfig } from '../core/config.ts';

/** Where values of the configuration were written: those of servers are judged long after they were read. */
const places = new WeakMap<object, Partial<Record<string, SourceValue>>>();

/** Where `key` of an engine or one of its servers was written; undefined where it was not. */
export function locationOf(
  of: EngineConfig | ReplicaConfig,
  key: string,
): Pick<SourceValue, 'file' | 'line' | 'path'> | undefined {
  return places.get(of)?.[key];
}

export function withLocation<T extends object>(value: T, fields: Partial<Record<string, SourceValue>>): T {
  places.set(value, fields);
  return value;
}

/** What was said. What was not is left out, so that it hides nothing of what this is laid over. */
export function omitUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export interface ConfigContext {
  check: Checker;
  /** Where relative paths of the value at hand start. */
  cwd: string;
  /** The folder of the configuration file. */
  base: string;
  exists: (path: string) => boolean;
}

/** From outside it starts where the command runs, in the file beside the file. */
export function folder(at: SourceValue | undefined, reading: ConfigContext): string | undefined {
  const found = reading.check.text(at);
  return found === undefined ? undefined : resolve(at?.line === null ? reading.cwd : reading.base, found);
}

/** A file that is there, as a path from everywhere. */
export function fileThere(at: SourceValue, { check, base, exists }: ConfigContext): string | undefined {
  const written = check.text(at);
  if (written === undefined) return undefined;
  const path = resolve(base, written);
  const hint = "Relative paths start at this file's folder.";
  return exists(path) ? path : check.fail(at, `there is no file ${path}`, hint);
}
