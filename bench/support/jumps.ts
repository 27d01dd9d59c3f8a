import { batchFile } from './batch-file.ts';
import { runBatch, uploadFile } from './run-batch.ts';
import type { Watched } from './live-list.ts';

const lines = 10_000;
const visits = 8;
const jumpsOfVisit = 5;

/**
 * Moves the scroll bar of the lines of an ended batch to random places.
 * @returns for each jump the milliseconds until no row in view was blank. Each visit begins with nothing loaded.
 */
export async function jump({ offpeak, upstream, page }: Watched): Promise<number[]> {
  await upstream.reset({ slots: 100, delayMs: 1 });
  const fileId = await uploadFile(offpeak, batchFile(lines, 1_500));
  await runBatch(offpeak, fileId, lines);
  const { data } = await offpeak.get<{ data: { id: string }[] }>('/v1/batches?limit=1');
  const blank: number[] = [];
  for (let visit = 0; visit < visits; visit++) {
    await page.goto(`${offpeak.url}/console/batches/${data[0]!.id}/lines`);
    await page.locator('tr[aria-rowindex="2"] td:nth-child(3)').waitFor();
    for (let n = 0; n < jumpsOfVisit; n++) {
      // A place far from the others, the same in each run.
      const share = (((visit * jumpsOfVisit + n + 1) * 0.618_034) % 1) * 0.98;
      blank.push(await page.evaluate<number>(`(${timeJump})(${share})`));
    }
  }
  return blank;
}

/** Runs in the page. Frames without a row in view count as blank, too. */
const timeJump = `(share) => new Promise((resolve) => {
  const box = document.querySelector('table[aria-rowcount]').parentElement;
  const begun = performance.now();
  box.scrollTo(0, share * (box.scrollHeight - box.clientHeight));
  const head = box.querySelector('th').getBoundingClientRect().bottom;
  const { bottom } = box.getBoundingClientRect();
  const look = () => {
    const rows = Array.from(box.querySelectorAll('tbody tr[aria-rowindex]')).filter((row) => {
      const place = row.getBoundingClientRect();
      return place.bottom > head && place.top < bottom;
    });
    const isFull = rows.length * 32 >= bottom - head - 64;
    const isBlank = !isFull || rows.some((row) => row.querySelector('[aria-label="Loading"]'));
    if (isBlank) requestAnimationFrame(look);
    else resolve(performance.now() - begun);
  };
  requestAnimationFrame(look);
})`;
