/** Tells browsers not to guess the content type of a body. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' };
