/**
 * Reads values in groups: keys that arrive while all reads are in progress form the next group. A single key is read without delay.
 * @param read reads a group; keys without a value are missing in the result
 * @param limits keys in a group, and groups that are read at the same time
 * @returns reads the value of a key
 */
export function coalesceReads<Key, Value>(
  read: (keys: Key[]) => Promise<ReadonlyMap<Key, Value>>,
  limits: { maxGroup: number; maxConcurrent: number },
): (key: Key) => Promise<Value | undefined> {
  const waiting: Entry<Key, Value>[] = [];
  let running = 0;

  function start(): void {
    while (running < limits.maxConcurrent && waiting.length > 0) {
      running++;
      void readGroup(waiting.splice(0, limits.maxGroup));
    }
  }

  async function readGroup(group: Entry<Key, Value>[]): Promise<void> {
    try {
      const found = await read(group.map(({ key }) => key));
      for (const { key, resolve } of group) resolve(found.get(key));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    running--;
    start();
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      start();
    });
}

interface Entry<Key, Value> {
  key: Key;
  resolve: (value: Value | undefined) => void;
  reject: (error: unknown) => void;
}
