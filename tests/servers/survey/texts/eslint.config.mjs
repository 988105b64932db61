export default [{ rules: { 'no-unused-vars': 'error', 'no-irregular-whitespace': 'error' } }];
