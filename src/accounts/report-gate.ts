/**
 * Keeps reports and the roll-up apart. A report of SQLite is read in parts, and a roll-up between two of them would move rows to where
 * the report has been, or is yet to come. Reports run together; a roll-up waits for them, and they for its one transaction.
 */
export interface ReportGate {
  report<T>(read: () => Promise<T>): Promise<T>;
  rollUp<T>(write: () => Promise<T>): Promise<T>;
}

export function createReportGate(): ReportGate {
  let reports = 0;
  let rolling: Promise<unknown> | undefined;
  const onIdle: (() => void)[] = [];
  const isIdle = () => reports === 0;

  return {
    async report(read) {
      reports++;
      try {
        await rolling?.catch(() => {});
        return await read();
      } finally {
        reports--;
        if (isIdle()) for (const wake of onIdle.splice(0)) wake();
      }
    },

    async rollUp(write) {
      while (!isIdle()) await new Promise<void>((resolve) => onIdle.push(resolve));
      const written = write();
      rolling = written;
      try {
        return await written;
      } finally {
        rolling = undefined;
      }
    },
  };
}
