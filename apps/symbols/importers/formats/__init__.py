"""The formats of instrument masters, one module for each publisher."""
