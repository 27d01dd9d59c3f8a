import { money } from './format.ts';

/** US dollars with the digits they need, and the exact amount as tooltip. Shows a dash for null. */
export function Money({ amount }: { amount: string | number | null | undefined }) {
  if (amount === null || amount === undefined) return <>–</>;
  return <span title={`$${amount}`}>{money(amount)}</span>;
}
