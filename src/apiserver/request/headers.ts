/** The header that tells browsers to take a body for what its content type says. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' };
