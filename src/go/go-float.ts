/** Formats a float64 as Go's `%v`: with an exponent from a million on, and below a ten-thousandth. */
export function goFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Reports whether a number is an int64 where Go reads JSON into `interface{}`; any other is a float64. */
export const isGoInteger = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;
