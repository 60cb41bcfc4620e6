/** Bundled beside the script; importing a style sheet gives nothing. */
declare module "*.css" {}
