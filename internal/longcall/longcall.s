// A package with functions whose bodies are elsewhere needs an assembly file.
