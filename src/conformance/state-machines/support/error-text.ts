import { messageOf } from '../../../base/errors.ts';

/** An error's text without the code that the house's own errors carry in front. */
export const errorText = (reason: unknown): string => messageOf(reason).replace(/^\[[a-z_]+\] /, '');
