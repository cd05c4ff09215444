/** A column as a Table declares it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

const told = 'shown by kubectl get';
/** Columns that kube-apiserver does not describe. */
const untold = new Set(['Handler']);

export const column = (name: string, priority = 0, type = 'string', format = ''): Column => ({
  name,
  type,
  format: name === 'Name' ? 'name' : format,
  description: untold.has(name) ? '' : `${name}: ${told}`,
  priority,
});

const [minute, hour, day, year] = [60, 3600, 86_400, 365 * 86_400];

/** Up to how many seconds a span is told in which unit, and whether with the rest in the next smaller one. */
const spans: readonly (readonly [
  below: number,
  unit: string,
  size: number,
  rest?: readonly [string, number],
])[] = [
  [2 * minute, 's', 1],
  [10 * minute, 'm', minute, ['s', 1]],
  [3 * hour, 'm', minute],
  [8 * hour, 'h', hour, ['m', minute]],
  [2 * day, 'h', hour],
  [8 * day, 'd', day, ['h', hour]],
  [2 * year, 'd', day],
  [8 * year, 'y', year, ['d', day]],
  [Infinity, 'y', year],
];

/** A span as kubectl prints ages: `5s`, `3m20s`, `4d`, `2y30d`. */
export function age(ms: number): string {
  const total = Math.floor(ms / 1000);
  if (total < 0) return total < -1 ? '<invalid>' : '0s';
  const [, unit = 's', size = 1, smaller] = spans.find(([below]) => total < below) ?? [];
  const head = `${Math.floor(total / size)}${unit}`;
  const rest = smaller ? Math.floor((total % size) / smaller[1]) : 0;
  return smaller && rest > 0 ? `${head}${rest}${smaller[0]}` : head;
}

export const ageOf = (text: unknown, now: number): string =>
  typeof text === 'string' ? age(now - Date.parse(text)) : '<unknown>';
