/**
 * Group commit: values that arrive during a write form the next group. A single value is written without delay.
 * @param write writes a group, all or nothing. When it rejects, the values of the group are written alone, so that one bad value
 *   fails alone; concurrently, because each may wait long for a silent database.
 * @param maxGroup values in a group
 * @param rest pause before the next group that is not full, so that groups are larger under load
 * @returns writes a value; settles when it is written
 */
export function coalesceWrites<T>(
  write: (values: T[]) => Promise<void>,
  maxGroup: number,
  rest?: () => Promise<void>,
): (value: T) => Promise<void> {
  let waiting: Entry<T>[] = [];
  let isWriting = false;

  async function writeAll(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting.slice(0, maxGroup);
      waiting = waiting.slice(maxGroup);
      await writeGroup(group);
      if (waiting.length > 0 && waiting.length < maxGroup) await rest?.();
    }
    isWriting = false;
  }

  async function writeGroup(group: Entry<T>[]): Promise<void> {
    try {
      await write(group.map(({ value }) => value));
      for (const { resolve } of group) resolve();
    } catch (error) {
      if (group.length === 1) group[0]!.reject(error);
      else await Promise.all(group.map((entry) => writeGroup([entry])));
    }
  }

  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject });
      if (!isWriting) void writeAll();
    });
}

interface Entry<T> {
  value: T;
  resolve: () => void;
  reject: (error: unknown) => void;
}
