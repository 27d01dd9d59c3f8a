import type { BatchesDeps } from '../../src/batches/batch-context.ts';
import type { Store } from '../../src/store/store.ts';
import type { Operation } from './store-view.ts';
import type { World } from './world.ts';

/** Plants a bug: wraps the dependencies of each process's batch engine. */
export type Plant = (parts: BatchesDeps, world: World) => BatchesDeps;

export const noPlant: Plant = (parts) => parts;

/** Returns the dependencies with some store operations replaced. */
export function around(parts: BatchesDeps, changes: { [G in keyof Store]?: Partial<Store[G]> }): BatchesDeps {
  const store = { ...parts.store } as unknown as Record<string, object>;
  for (const [group, operations] of Object.entries(changes))
    store[group] = { ...store[group], ...operations };
  return { ...parts, store: store as unknown as Store };
}

/** Replaces texts in the SQL of one operation. A text that no statement has plants nothing: the test of planted bugs reports it. */
export function inSql(of: Operation, ...changes: readonly (readonly [text: string, by: string])[]): Plant {
  return (parts, { database, plantedTexts }) => {
    for (const [text] of changes) if (!plantedTexts.has(text)) plantedTexts.set(text, false);
    database.locks.rewrite = (sql, operation) => {
      if (operation !== of) return sql;
      const found = changes.filter(([text]) => sql.includes(text));
      for (const [text] of found) plantedTexts.set(text, true);
      return found.reduce((rewritten, [text, by]) => rewritten.replace(text, by), sql);
    };
    return parts;
  };
}

/** Replaces a method of a class until the world ends. */
export function inClass<T extends object, M extends keyof T>(
  owner: { prototype: T },
  method: M,
  replace: (original: T[M]) => T[M],
): Plant {
  return (parts, world) => {
    world.replaceMethod(owner.prototype, method, replace);
    return parts;
  };
}
