import { resolve } from 'node:path';
import type { Checker, SourceValue } from './source-value.ts';
import type { EngineConfig, ReplicaConfig } from '../core/config.ts';

/** Locations of engine and server settings, for problems found after the configuration was read. */
const locations = new WeakMap<object, Partial<Record<string, SourceValue>>>();

/** Location of `key` of an engine or server; undefined if it is not set. */
export function locationOf(of: EngineConfig | ReplicaConfig, key: string): SourceValue | undefined {
  return locations.get(of)?.[key];
}

export function withLocation<T extends object>(value: T, fields: Partial<Record<string, SourceValue>>): T {
  locations.set(value, fields);
  return value;
}

/** Copy without undefined fields, which would override defaults when spread. */
export function omitUndefined<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export interface ConfigContext {
  check: Checker;
  /** Base of relative paths in flags and variables. */
  cwd: string;
  /** Folder of the configuration file, the base of relative paths in it. */
  base: string;
  exists: (path: string) => boolean;
}

/** Absolute path of a folder. */
export function folder(at: SourceValue | undefined, context: ConfigContext): string | undefined {
  const found = context.check.text(at);
  return found === undefined ? undefined : resolve(at?.line === null ? context.cwd : context.base, found);
}

/** Absolute path of an existing file. */
export function existingFile(at: SourceValue, { check, base, exists }: ConfigContext): string | undefined {
  const written = check.text(at);
  if (written === undefined) return undefined;
  const path = resolve(base, written);
  const hint = "Relative paths start at this file's folder.";
  return exists(path) ? path : check.fail(at, `there is no file ${path}`, hint);
}
