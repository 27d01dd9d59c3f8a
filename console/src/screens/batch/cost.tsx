import type { Batch } from '../../api/batches.ts';
import { compact, money, percent } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import css from './batch.module.css';

/** Price of a batch, from what single requests without a cache would cost to what is paid. */
export function Cost({ batch: { cost, usage } }: { batch: Batch }) {
  const [full, list, paid] = [Number(cost.uncached_amount), Number(cost.list_amount), Number(cost.amount)];
  const cached = usage.input_tokens_details.cached_tokens;
  return (
    <dl className={css.cost}>
      <dt>Single requests, without a cache</dt>
      <dd>
        <Money amount={cost.uncached_amount} />
      </dd>
      <dt>
        Prompt cache <span className="quiet">{percent(cached, usage.input_tokens)} of the input</span>
      </dt>
      <dd>{less(full - list)}</dd>
      <dt>Batch discount</dt>
      <dd>{less(list - paid)}</dd>
      <dt className={css.total}>Cost</dt>
      <dd className={css.total}>
        <Money amount={cost.amount} />
      </dd>
      <dt className="quiet">Tokens</dt>
      <dd className="quiet">
        {compact(usage.input_tokens)} in, {compact(usage.output_tokens)} out
      </dd>
    </dl>
  );
}

function less(amount: number): string {
  return amount > 0 ? money(-amount) : '–';
}
